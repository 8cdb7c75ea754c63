// Starts the page of rooms for many.
import { RoomsApp } from './app.js';
import { readParameters } from './parameters.js';

/** `roost.room` is the room on the screen, for the console and for tests. */
globalThis.roost = new RoomsApp(readParameters(location.search));
globalThis.roost.start();
