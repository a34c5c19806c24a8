import"./PMQE.js";
