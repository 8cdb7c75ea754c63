// One screen shows at a time. A screen that appears takes the focus, so that a screen reader says where one is.

export const byID = (id) => document.getElementById(id);

export function showScreen(name) {
  for (const screen of document.querySelectorAll('section.screen')) screen.hidden = screen.id !== name;
  document.body.classList.toggle('in-call', byID(name).matches('.chat, .meeting'));
  byID(name).querySelector('h1').focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** The title of the window or tab, which is all that shows of a page in the background. */
export function setTitle(text) {
  const title = `${text} – Roost`;
  if (document.title !== title) document.title = title;
}

/** Sets text only when it changed: a live region speaks at each write. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows another of the page's icons in a button. */
export function setIcon(button, id) {
  const use = button.querySelector('use');
  if (use.getAttribute('href') !== `#${id}`) use.setAttribute('href', `#${id}`);
}

/** Shows a text, or hides the element when there is none. */
export function setNotice(element, text) {
  element.hidden = !text;
  setText(element, text ?? '');
}
