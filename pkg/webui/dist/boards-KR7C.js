import{b as a,c as b,d as c}from"./UW6V.js";import"./HW5B.js";import"./35L6.js";import"./5DSQ.js";export{a as Page,c as addToBoard,b as saveChart};
