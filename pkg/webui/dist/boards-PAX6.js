import{b as a,c as b,d as c}from"./UVOK.js";import"./M3MC.js";import"./4V7D.js";import"./XXLG.js";export{a as Page,c as addToBoard,b as saveChart};
