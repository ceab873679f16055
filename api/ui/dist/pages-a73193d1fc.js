import"./app-08f6bab0f1.js";var t={};export{t as pages};
