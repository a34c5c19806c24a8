import{b as a,c as b,d as c}from"./URH6.js";import"./OHXT.js";import"./ANWX.js";import"./624B.js";export{a as Page,c as addToBoard,b as saveChart};
