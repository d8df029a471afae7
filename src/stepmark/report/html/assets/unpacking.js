// Unpacking: what report/html/packing.py packed.

const packedBytes = async (text) => {
  const raw = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const packedJson = async (text) => JSON.parse(new TextDecoder().decode(await packedBytes(text)));

// Integers that were packed byte by byte: all lowest bytes first.
const packedColumn = async (column, count) => {
  const values = new Array(count).fill(column.base);
  if (!column.data) return values;
  const bytes = await packedBytes(column.data);
  for (let plane = 0, scale = 1; plane < column.width; plane += 1, scale *= 256) {
    for (let at = 0; at < count; at += 1) values[at] += bytes[plane * count + at] * scale;
  }
  return values;
};
