// What scrolls sideways can be reached by the keyboard.
document$.subscribe(() => {
  document
    .querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code")
    .forEach((wide) => wide.setAttribute("tabindex", "0"));
});
