import{a,c}from"./PMQE.js";async function*w(i,d,n){let p=(await c(i,{method:"POST",body:d,signal:n})).body.pipeThrough(new TextDecoderStream).getReader(),o="";for(;;){let{value:f,done:g}=await p.read().catch(e=>{throw n.aborted?e:new a(0,"The connection to the server broke off.")});if(g)return;let r=(o+f).split(`

`);o=r.pop();for(let e of r){let[,t,s]=/^event: (.*)\ndata: (.*)$/.exec(e)??[];t&&s&&(yield[t,JSON.parse(s)])}}}export{w as a};
