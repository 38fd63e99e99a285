// Starts the page from the content that is in it.

import { NetPage, readContent } from "./page_main.mjs";

readContent(document.getElementById("content").textContent).then((content) => {
  window.netPage = new NetPage(content);
  document.body.dataset.ready = "";
});
