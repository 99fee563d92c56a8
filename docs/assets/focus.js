// What scrolls sideways can be reached by the keyboard, and every landmark has a name of its own.
document$.subscribe(() => {
  document
    .querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")
    .forEach((wide) => wide.setAttribute("tabindex", "0"));
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  const name = () =>
    document
      .querySelectorAll(".md-code__nav")
      .forEach((nav, place) => nav.setAttribute("aria-label", `Code block ${place + 1}`));
  name();
  new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
});
