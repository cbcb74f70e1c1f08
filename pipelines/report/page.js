"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const bar = document.querySelector(".filter");
  const words = document.getElementById("words");
  const person = document.getElementById("person");
  const count = document.getElementById("count");
  const cards = all(".card").map((card) => ({
    card,
    row: card.closest(".near") || card,
    type: card.dataset.type,
    person: card.closest(".person").dataset.person,
    text: (card.querySelector(".says").textContent + " " + card.closest(".person").querySelector("h2").textContent).toLowerCase(),
  }));
  const folds = all(".fold").map((fold) => ({ fold, open: fold.open }));

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const types = new Set(all("input[name=type]:checked").map((box) => box.value));
    const one = person ? person.value : "";
    const filtered = wanted.length > 0 || types.size < all("input[name=type]").length;
    all(".person").forEach((part) => { part.hidden = one !== "" && part.dataset.person !== one; });
    let shown = 0, possible = 0;
    for (const entry of cards) {
      const fits = types.has(entry.type) && wanted.every((word) => entry.text.includes(word));
      entry.row.hidden = !fits;
      if (one === "" || entry.person === one) {
        possible += 1;
        shown += fits ? 1 : 0;
      }
    }
    for (const { fold, open } of folds) {
      fold.hidden = filtered && !fold.querySelector(".card:not([hidden])");
      fold.open = filtered ? !fold.hidden : open;
    }
    const empty = (part) => !all(".card", part).some((card) => !card.hidden && !(card.closest(".near") || card).hidden);
    all(".group").forEach((group) => { group.hidden = filtered && empty(group); });
    all(".none").forEach((message) => { message.hidden = !filtered || !empty(message.parentElement); });
    count.textContent = filtered ? `${shown} of ${possible} patterns` : `${possible} patterns`;
  };

  // A link to a person, or into their section, selects that person.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const part = target && target.closest(".person");
    if (person && part && person.value !== "" && person.value !== part.dataset.person) {
      person.value = part.dataset.person;
      filter();
    }
    if (part) {
      target.scrollIntoView();
    }
  };

  if (cards.length) {
    bar.hidden = false;
    bar.addEventListener("input", filter);
    if (person && !location.hash) {
      person.value = "1";
    }
    filter();
    window.addEventListener("hashchange", follow);
  }

  // Expand all details for printing.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = all("details.fold:not([open]), details.table:not([open])");
    folded.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));

  // Tooltips: the title of a mark, shown without delay and in the font of the page.
  const tip = document.body.appendChild(document.createElement("div"));
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true"); // the charts have descriptions of their own
  const titleOf = (mark) => {
    const title = [...mark.children].find((child) => child.tagName === "title");
    if (title) {
      mark.dataset.title = title.textContent;
      title.remove(); // or the browser shows it as well
    }
    return mark.dataset.title;
  };
  document.addEventListener("pointerover", (event) => {
    const text = event.target instanceof SVGElement ? titleOf(event.target) : "";
    tip.hidden = !text;
    tip.textContent = text || "";
  });
  document.addEventListener("pointermove", (event) => {
    if (!tip.hidden) {
      const { width, height } = tip.getBoundingClientRect();
      const left = Math.min(event.clientX + 12, window.innerWidth - width - 8);
      const below = event.clientY + 18;
      tip.style.left = `${Math.max(left, 8)}px`;
      tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 12 : below}px`;
    }
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") { tip.hidden = true; } });
})();
