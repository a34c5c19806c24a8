import"./T73D.js";
