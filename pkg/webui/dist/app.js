import"./NG6X.js";
