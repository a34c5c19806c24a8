import"./35FE.js";
