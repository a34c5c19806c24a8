import"./624B.js";
