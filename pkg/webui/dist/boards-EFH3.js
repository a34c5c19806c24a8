import{b as a,c as b,d as c}from"./FQPE.js";import"./SMAF.js";import"./PWWB.js";import"./ARF7.js";export{a as Page,c as addToBoard,b as saveChart};
