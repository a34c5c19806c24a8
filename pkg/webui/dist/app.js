import"./OSQV.js";
