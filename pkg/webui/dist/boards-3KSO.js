import{b as a,c as b,d as c}from"./FZQ3.js";import"./GLAD.js";import"./SBHX.js";import"./NG6X.js";export{a as Page,c as addToBoard,b as saveChart};
