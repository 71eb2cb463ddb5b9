/* What this browser keeps of a survey: the arm that was drawn, and the report that was made. Never an answer.

   It is kept in IndexedDB, because its transactions hold among tabs: of two tabs that make a report at the same time,
   one has its report kept, and both send that one. */

const STORE = "reports";

const settled = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Let a function use the database, which is closed afterwards. */
async function inDatabase(use) {
  const opening = indexedDB.open("deniable", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await use(database);
  } finally {
    database.close();
  }
}

/** Change what is kept by a key, in one transaction; gives what is then kept. `change` gets undefined if there is nothing. */
export function keep(key, change) {
  return inDatabase(
    (database) =>
      new Promise((resolve, reject) => {
        const transaction = database.transaction(STORE, "readwrite", { durability: "strict" });
        const store = transaction.objectStore(STORE);
        const reading = store.get(key);
        let next;
        reading.onsuccess = () => store.put((next = change(reading.result)), key);
        transaction.oncomplete = () => resolve(next);
        transaction.onabort = () => reject(transaction.error);
      }),
  );
}

/** How many reports are kept by other keys that begin alike. */
export function countOthers(start, key) {
  return inDatabase(async (database) => {
    const store = database.transaction(STORE).objectStore(STORE);
    const [keys, all] = await Promise.all([settled(store.getAllKeys()), settled(store.getAll())]);
    return all.filter(({ report }, at) => report && keys[at].startsWith(start) && keys[at] !== key).length;
  });
}
