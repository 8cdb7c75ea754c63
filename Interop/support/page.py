"""What tests do with the page, and what a screen has to fulfil."""

import json

from playwright.sync_api import expect

from support.waiting import PATIENCE

# What a screen reader and a reader with weak eyes need, of each visible element; returns the faults.
ACCESSIBILITY = """
async () => {
  // A colour on its way to another is none to be read by.
  const passing = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
  await Promise.allSettled(passing.map((transition) => transition.finished));
  const faults = [];
  const visible = (element) => element.checkVisibility({ visibilityProperty: true });
  const name = (element) => {
    const by = element.getAttribute('aria-labelledby')?.split(' ')
      .map((id) => document.getElementById(id)?.textContent ?? '');
    const labels = [...(element.labels ?? [])].map((label) => label.textContent);
    return (element.getAttribute('aria-label') ?? by?.join(' ') ?? (labels.join(' ') || element.textContent)).trim();
  };
  const named = 'button, input, video, section.screen, [role=group], [tabindex="0"]';
  for (const element of document.querySelectorAll(named)) {
    if (visible(element) && !name(element)) faults.push(`no name: ${element.outerHTML.slice(0, 80)}`);
  }
  for (const image of document.querySelectorAll('img:not([alt])')) faults.push(`no alt: ${image.src}`);
  for (const attribute of ['aria-describedby', 'aria-labelledby', 'aria-controls']) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(' ')) {
        if (!document.getElementById(id)) faults.push(`${attribute} to nothing: ${id}`);
      }
    }
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) faults.push(`twice: ${id}`);
  if ([...document.querySelectorAll('h1')].filter(visible).length !== 1) faults.push('not one h1');

  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 220) return color;
    }
    return rgba(getComputedStyle(document.documentElement).colorScheme === 'dark' ? 'black' : 'white');
  };
  for (const element of document.querySelectorAll('main *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || !visible(element) || element.closest(':disabled')) continue;
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), luminance(background(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    // WCAG 2.2, 1.4.3.
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(1)}: ${element.textContent.trim().slice(0, 40)}`);
  }
  for (const card of document.querySelectorAll('.card')) {
    const { right } = card.getBoundingClientRect();
    for (const element of card.querySelectorAll('*')) {
      if (visible(element) && element.getBoundingClientRect().right > right) faults.push(`juts out: ${element.id}`);
    }
  }
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) faults.push(`scrolls sideways: ${width}`);
  return faults;
}
"""


def check_readable(page):
    """Nothing of `ACCESSIBILITY` is missing, in light colours and in dark ones."""
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(ACCESSIBILITY) == [], scheme


# Takes the times, in milliseconds, whose timers run when `passTime` is called with them, and not before.
HOLD_TIMERS = """
(times) => {
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const held = new Map();
  globalThis.setTimeout = (run, time, ...more) => {
    if (!times.includes(time)) return set(run, time, ...more);
    const id = set(() => {}, 0);
    held.set(id, { run, time });
    return id;
  };
  globalThis.clearTimeout = (id) => (held.delete(id), clear(id));
  globalThis.passTime = (wanted) => {
    for (const [id, { run, time }] of [...held]) if (time === wanted && held.delete(id)) run();
  };
}
"""


def hold_timers(page, *times):
    """What the next page would do after such a time it does at `passTime(time)`: however slow the machine is."""
    page.add_init_script(f"({HOLD_TIMERS})({json.dumps(times)})")


def text(page, selector):
    return page.inner_text(selector).strip()


def wait_text(page, selector, wanted):
    """Until the element shows the text; `""` until it shows none."""
    words = expect(page.locator(selector))
    check = words.to_contain_text if wanted else words.to_have_text
    check(wanted, use_inner_text=True, timeout=1000 * PATIENCE)


def login(page, server, name, room, query=""):
    page.goto(f"{server}/{query}")
    page.fill("#login-name", name)
    page.fill("#login-room", str(room))
    page.click("#login-continue")


def connect(page, role):
    page.check(f"#room-role input[value={role}]", force=True)
    page.click("#room-connect")
    wait_text(page, "#room-connection", "Connected")
