// One screen shows at a time. A screen that appears takes the focus, so that a screen reader says where one is.

const TITLES = { login: 'Roost', room: 'Room – Roost', chat: 'Call – Roost' };

export const byID = (id) => document.getElementById(id);

export function showScreen(name) {
  for (const screen of document.querySelectorAll('section.screen')) screen.hidden = screen.id !== name;
  document.body.classList.toggle('in-call', name === 'chat');
  document.title = TITLES[name];
  byID(name).querySelector('h1').focus({ preventScroll: true });
  scrollTo(0, 0);
}

/** Sets text only when it changed: a live region speaks at each write. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows a text, or hides the element when there is none. */
export function setNotice(element, text) {
  element.hidden = !text;
  setText(element, text ?? '');
}

/** The first letter of a name, by what people see as one. */
export function initial(name) {
  const [first] = new Intl.Segmenter().segment(name);
  return (first?.segment ?? '?').toLocaleUpperCase();
}
