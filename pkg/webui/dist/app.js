import"./XXLG.js";
