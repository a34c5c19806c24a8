import{b as a,c as b,d as c}from"./VFVP.js";import"./EN3N.js";import"./2ZGE.js";import"./P5Z7.js";export{a as Page,c as addToBoard,b as saveChart};
