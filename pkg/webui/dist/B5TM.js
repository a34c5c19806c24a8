function e(t){try{return JSON.parse(sessionStorage.getItem(t)??"null")}catch{return null}}export{e as a};
