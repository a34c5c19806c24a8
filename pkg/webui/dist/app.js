import"./SIJD.js";
