import{b as a,c as b,d as c}from"./RMIV.js";import"./VWYV.js";import"./JRM6.js";import"./OSQV.js";export{a as Page,c as addToBoard,b as saveChart};
