import{b as a,c as b,d as c}from"./KO4V.js";import"./YNC3.js";import"./7JGI.js";import"./NCG2.js";export{a as Page,c as addToBoard,b as saveChart};
