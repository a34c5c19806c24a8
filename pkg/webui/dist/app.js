import"./K7RX.js";
