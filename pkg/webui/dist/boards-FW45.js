import{b as a,c as b,d as c}from"./MFPM.js";import"./V5QF.js";import"./5TS3.js";import"./7CTM.js";export{a as Page,c as addToBoard,b as saveChart};
