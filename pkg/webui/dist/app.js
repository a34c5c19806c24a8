import"./5DSQ.js";
