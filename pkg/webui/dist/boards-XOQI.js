import{b as a,c as b,d as c}from"./EGXD.js";import"./BGCJ.js";import"./RLCL.js";import"./SIJD.js";export{a as Page,c as addToBoard,b as saveChart};
