import{b as a,c as b,d as c}from"./ZGVM.js";import"./C4NA.js";import"./UXQ5.js";import"./35FE.js";export{a as Page,c as addToBoard,b as saveChart};
