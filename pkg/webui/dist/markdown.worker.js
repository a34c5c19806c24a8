import{Lexer as n}from"./marked.js";addEventListener("message",e=>{let t=null;try{t=new n({gfm:!0}).lex(e.data.text)}catch{}postMessage({id:e.data.id,tokens:t})});
