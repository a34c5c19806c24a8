import"./P5Z7.js";
