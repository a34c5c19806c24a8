import"./7CTM.js";
