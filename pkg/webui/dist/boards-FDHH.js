import{b as a,c as b,d as c}from"./4UND.js";import"./L3IV.js";import"./V5XT.js";import"./T73D.js";export{a as Page,c as addToBoard,b as saveChart};
