import"./NCG2.js";
