/* What this browser keeps of a survey: the arm that was drawn, and the report that was made. Never an answer.

   It is kept in IndexedDB, because its transactions hold among tabs: of two tabs that make a report at the same time,
   one has its report kept, and both send that one. */

const STORE = "reports";

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Change what is kept by a key, in one transaction; gives what is then kept. `change` gets undefined if there is nothing. */
export async function keep(key, change) {
  const opening = indexedDB.open("deniable", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
      const store = transaction.objectStore(STORE);
      const reading = store.get(key);
      let next;
      reading.onsuccess = () => store.put((next = change(reading.result)), key);
      transaction.oncomplete = () => resolve(next);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
}
