import"./app-2b21f7e7fc.js";var t={};export{t as pages};
