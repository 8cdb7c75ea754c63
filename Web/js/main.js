// Starts the page.
import { App } from './app.js';
import { readParameters } from './preferences.js';

/** `roost.call` is the call on the screen, for the console and for tests. */
globalThis.roost = new App(readParameters(location));
globalThis.roost.start();
