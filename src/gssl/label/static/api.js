// Requests to the server and its responses: JSON, then the guesses and confidences of all nodes.

export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function refusal(response) {
  let message = `The server answered ${response.status}.`;
  try {
    message = (await response.json()).error || message;
  } catch { /* not JSON */ }
  return new Refused(response.status, message);
}

async function frame(response) {
  if (!response.ok && response.status !== 409) throw await refusal(response);
  const buffer = await response.arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const state = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  state.guesses = new Uint16Array(buffer, 4 + length, state.nodes);
  state.confidences = new Uint8Array(buffer, 4 + length + 2 * state.nodes, state.nodes);
  state.stale = response.status === 409;
  return state;
}

async function json(url) {
  const response = await fetch(url);
  if (!response.ok) throw await refusal(response);
  return response.json();
}

export const getState = async (node) => frame(await fetch(node == null ? "/api/state" : `/api/state?node=${node}`));
export const getVersion = () => json("/api/version");
export const getNode = (node) => json(`/api/node?i=${node}`);
export const search = (words) => json(`/api/search?q=${encodeURIComponent(words)}`);

export async function getMap() {
  const response = await fetch("/api/map");
  if (!response.ok) throw await refusal(response);
  return new Float32Array(await response.arrayBuffer());
}

export async function act(action) {
  const body = JSON.stringify(action);
  return frame(await fetch("/api/act", { method: "POST", headers: { "Content-Type": "application/json" }, body }));
}

export async function importFile(file, version) {
  const format = file.name.split(".").pop().toLowerCase();
  const url = `/api/import?format=${encodeURIComponent(format)}&version=${version}`;
  return frame(await fetch(url, { method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: file }));
}
