import"./2TBG.js";
