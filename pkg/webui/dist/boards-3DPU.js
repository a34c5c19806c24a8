import{b as a,c as b,d as c}from"./SAVO.js";import"./O672.js";import"./2L5Z.js";import"./K7RX.js";export{a as Page,c as addToBoard,b as saveChart};
