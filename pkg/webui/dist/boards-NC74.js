import{b as a,c as b,d as c}from"./SE7K.js";import"./KVZ5.js";import"./RW7V.js";import"./2TBG.js";export{a as Page,c as addToBoard,b as saveChart};
