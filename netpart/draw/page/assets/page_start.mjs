// Starts the page from the content that is in it.

import { NetPage } from "./page_main.mjs";
import { readContent } from "./read_content.mjs";

readContent(document.getElementById("content").textContent).then((content) => {
  window.netPage = new NetPage(content);
  document.body.dataset.ready = "";
});
