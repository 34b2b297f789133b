/* The page of `show --flame`. */

makePage(JSON.parse(element("data").textContent), null);
