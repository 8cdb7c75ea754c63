// Things to know that end nothing: each stays until it is closed or has passed.

export class Notices {
  #element;
  #next;

  /** @param {Element} element a live region  @param {Element} next what gets the focus of a notice that goes */
  constructor(element, next) {
    this.#element = element;
    this.#next = next;
  }

  /** Said once. Another text under the same key takes its place. */
  show(text, key = text) {
    for (const entry of this.#element.children) {
      if (entry.dataset.key === key && entry.firstElementChild.textContent === text) return;
    }
    this.withdraw(key);
    const entry = document.createElement('div');
    entry.dataset.key = key;
    const words = document.createElement('p');
    words.textContent = text;
    const close = document.createElement('button');
    close.type = 'button';
    close.textContent = '×';
    close.setAttribute('aria-label', 'Close this message');
    close.addEventListener('click', () => {
      entry.remove();
      this.#next.focus();
    });
    entry.append(words, close);
    this.#element.append(entry);
  }

  withdraw(key) {
    for (const entry of [...this.#element.children]) {
      if (entry.dataset.key !== key) continue;
      // A focus that goes with its element would begin again at the top of the page.
      if (entry.contains(document.activeElement)) this.#next.focus();
      entry.remove();
    }
  }

  clear() {
    this.#element.replaceChildren();
  }
}
