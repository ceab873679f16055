import"./app-a3cf06c1f6.js";var t={};export{t as pages};
