import"./ARF7.js";
