import{b as a,c as b,d as c}from"./RMOW.js";import"./P4XV.js";import"./K4PM.js";import"./PMQE.js";export{a as Page,c as addToBoard,b as saveChart};
