// A service that asks the next one before it answers, if there is one; and its client.
//     node service.mjs serve PORT [NEXT]
//     node service.mjs ask URL COUNT     prints how many answers were right
import http from "node:http";

const agent = new http.Agent({ keepAlive: true });
const ask = (url) =>
    new Promise((answered, failed) => {
        const request = http.get(url, { agent }, async (response) => {
            let text = "";
            for await (const part of response) text += part;
            answered(text);
        });
        request.on("error", failed);
    });

const [what, first, second] = process.argv.slice(2);
if (what === "serve") {
    http.createServer(async (request, response) => {
        response.end(second ? `page with ${await ask(second)}` : "part");
    }).listen(Number(first));
} else {
    let right = 0;
    for (let number = 0; number < Number(second); number++) right += (await ask(first)) === "page with part";
    console.log(right);
    agent.destroy();
}
